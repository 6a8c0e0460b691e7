"""What the help says of each command, and shows of those that have options of their own."""

SUMMARIES = {
    "train": "Train a network on an image set, clean or adversarially, and report its accuracy.",
    "attack": "Attack a model: clean accuracy, adversarial accuracy, success rate.",
    "eval": "Judge a model under several attacks and epsilons, or on a saved adversarial set.",
    "curve": "Accuracy at every epsilon, and where each image flips, from one gradient an image.",
    "audit": "Can the numbers be trusted? The checks the literature asks for, each with a verdict.",
    "transfer": "The accuracies of several models on examples crafted on each of them.",
    "show": "Show images of a saved adversarial set in the terminal, before and after.",
    "certify": "Robust accuracy from both sides: what is proved, and what attacks leave.",
    "run": "Run a whole experiment from a YAML file, its sections in order.",
    "compare": "Two result folders side by side: who is right where, and whether by chance.",
    "plot": "Accuracy over epsilon of several finished runs in one figure.",
    "verify": "Compute a finished run anew: exit code 1 unless it agrees to the digit.",
    "reproduce": "Run experiments of the literature again, beside the published figures.",
    "schema": "Print the JSON schema of an experiment file, for editors.",
}

EXAMPLES = {
    "train": ("fgsm train", "fgsm train --hidden 256,128 --epochs 10 --output runs/wide"),
    "attack": (
        "fgsm attack --epsilon 0.1",
        "fgsm attack my_model.keras --data my_set.npz -e 8/255 --save adv.npz",
        "fgsm attack --attack bim --steps 20 --format json",
    ),
    "eval": (
        "fgsm eval --epsilon 0.05 --epsilon 0.1 --attack fgsm --attack bim",
        "fgsm eval other.keras --examples adv.npz",
        "fgsm eval --epsilon 0.1 --fail-under 0.5",
    ),
    "curve": (
        "fgsm curve --epsilon-max 0.3 --points 31",
        "fgsm curve my_model.keras --attack fgm --epsilon-max 3 --format csv",
    ),
    "audit": ("fgsm audit", "fgsm audit my_model.keras --epsilon 8/255 --format json"),
    "transfer": (
        "fgsm transfer a.keras b.keras c.keras --epsilon 0.1",
        "fgsm transfer a.keras b.keras --attack pgd --ensemble --plot transfer.svg",
    ),
    "show": ("fgsm show adv.npz", "fgsm show adv.npz my_model.keras --only 4,9 --images grid.pdf"),
    "certify": (
        "fgsm certify --epsilon 0.005 --epsilon 0.01",
        "fgsm certify --epsilon 0.01 --limit 1000 --exact --time-limit 60s",
        "fgsm certify my_model.keras -e 1/255 -e 2/255 --bounds alpha-crown --plot bracket.svg",
    ),
    "run": (
        "fgsm run configs/quickstart.yaml",
        "fgsm run configs/quickstart.yaml --set attack.epsilon=0.2 --output runs/quick",
    ),
}
