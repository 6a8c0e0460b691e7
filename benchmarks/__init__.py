"""How fast ``fgsm`` is beside plain Keras and its peers. ``python -m benchmarks`` measures it."""
