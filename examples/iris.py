"""Iris with protected labels: release, how close it came, what a stranger can do with the file."""

import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

import privgmm

iris = load_iris()
species = iris.target_names[iris.target]

release = privgmm.release(
    iris.data,
    species,
    epsilon=1.0,
    delta=1e-5,
    unit="label",
    classes=[str(name) for name in iris.target_names],
    feature_names=iris.feature_names,
    label_name="species",
)
print(release.guarantee.promise)

# Only the holder can compare with the private fit.
fitted = privgmm.fit(iris.data, species)
print(f"KL(released || fitted): {privgmm.kl_divergence(release.mixture, fitted):.3f}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "iris.json"
    release.save(path)
    received = privgmm.Release.load(path)
print(f"accuracy of the released classifier: {(received.predict(iris.data) == species).mean():.3f}")
print(f"of the non-private one: {(fitted.predict(iris.data) == species).mean():.3f}")
