// The slider: images as clip(x + epsilon * direction), computed here; answers as the run gave them.
"use strict";
for (const lab of document.querySelectorAll("[data-lab]")) {
  const data = JSON.parse(lab.querySelector("script").textContent);
  const gallery = lab.parentElement.querySelector("[data-gallery]");
  const originals = gallery.querySelectorAll("img[data-x]");
  const [cursor, point] = lab.closest("article").querySelectorAll(".cursor");
  const input = lab.querySelector("input"), output = lab.querySelector("output");
  const live = lab.querySelector(".live"), tiles = lab.querySelectorAll(".tiles");
  const percent = (share) => (100 * share).toFixed(1) + "\u00a0%";

  // A picture's levels 0..255, four to a pixel.
  const levels = async (picture) => {
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = picture.naturalWidth;
    canvas.height = picture.naturalHeight;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(picture, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height);
  };

  const hang = async (one, place) => {
    const steps = new Image();
    steps.src = one.direction;
    const [x, direction] = [await levels(originals[place]), await levels(steps)];
    const item = document.createElement("li"), canvas = document.createElement("canvas");
    const text = document.createElement("p"), says = document.createElement("b");
    const label = one.label === null ? data.classes[one.answers[0]] : data.classes[one.label];
    const meant = one.label === null ? one.answers[0] : one.label;
    text.append(one.label === null ? "was " + label : "label " + label, document.createElement("br"), says);
    canvas.width = x.width;
    canvas.height = x.height;
    canvas.setAttribute("role", "img");
    item.append(canvas, text);
    tiles[one.wall].append(item);
    const context = canvas.getContext("2d"), image = context.createImageData(x.width, x.height);
    return (stop) => {
      const length = (255 * data.epsilons[stop] * one.size) / 127;
      for (let at = 0; at < image.data.length; at++) {
        // Rounds and clips to 0..255 by itself; every fourth value is opacity.
        image.data[at] = at % 4 === 3 ? 255 : x.data[at] + length * (direction.data[at] - 128);
      }
      context.putImageData(image, 0, 0);
      const right = one.answers[stop] === meant;
      says.className = right ? "right" : "wrong";
      says.textContent = (right ? "✓ " : "✗ ") + data.classes[one.answers[stop]] + ", " + percent(one.confidences[stop]);
      canvas.setAttribute("aria-label", "Image " + one.index + " at epsilon " + shown(stop) + ": " + text.textContent);
    };
  };
  const shown = (stop) => String(Number(data.epsilons[stop].toPrecision(4)));

  lab.hidden = false;
  document.documentElement.classList.add("live-now");
  Promise.all(data.pictures.map(hang)).then((pictures) => {
    const move = () => {
      const stop = Number(input.value), last = data.epsilons[data.epsilons.length - 1];
      for (const set of pictures) set(stop);
      output.textContent = shown(stop);
      const kept = data.correct[stop].toLocaleString("en") + " of " + data.n.toLocaleString("en") + " images are " +
        (data.labelled ? "classified right" : "answered as before") + ": " + percent(data.correct[stop] / data.n);
      live.textContent = kept + "; with random noise of this size " + percent(data.noise[stop] / data.n) + ".";
      input.setAttribute("aria-valuetext", "epsilon " + shown(stop) + ", " + percent(data.correct[stop] / data.n) + " right");
      if (cursor) {
        const left = Number(cursor.dataset.left), right = Number(cursor.dataset.right);
        const at = left + (right - left) * (data.epsilons[stop] / last);
        cursor.setAttribute("x1", at);
        cursor.setAttribute("x2", at);
        const low = Number(cursor.getAttribute("y2")), high = Number(cursor.getAttribute("y1"));
        point.setAttribute("cx", at);
        point.setAttribute("cy", low - (low - high) * (data.correct[stop] / data.n));
      }
    };
    input.addEventListener("input", move);
    move();
    lab.dataset.ready = "true";
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
