"""Train a classifier on synthetic digits only: the labels of the real images stay protected."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import privgmm

images, digits = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(images, digits, random_state=0)

# At label level the images are public, so PCA on them is free.
pca = PCA(8, random_state=0).fit(train)
X, X_test = pca.transform(train), pca.transform(test)

real = LogisticRegression(max_iter=5000).fit(X, y_train)
print(f"trained on real labels:        {real.score(X_test, y_test):.3f}")
for epsilon in (1.0, 4.0):
    release = privgmm.release(X, y_train, epsilon=epsilon, unit="label", classes=range(10))
    X_synthetic, y_synthetic = release.sample(len(X), seed=0)
    model = LogisticRegression(max_iter=5000).fit(X_synthetic, np.asarray(y_synthetic))
    print(f"trained on synthetic, eps {epsilon:g}:   {model.score(X_test, y_test):.3f}")
