"""The least that any tool must do: load Keras, the model and the images, and predict once.

python -m benchmarks.bare_process model.keras mnist.npz
"""

import sys

import keras
import numpy as np

model_path, images_path = sys.argv[1:]
with np.load(images_path) as arrays:
    x, y = arrays["x_test"].astype("float32") / 255, arrays["y_test"]
scores = keras.models.load_model(model_path).predict(x, batch_size=1000, verbose=0)
print((scores.argmax(axis=1) == y).sum())
