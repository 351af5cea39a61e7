"""A hospital's table as it comes: an id, texts, empty cells, a skewed column. Whole rows are protected.

The file is written with semicolons and decimal commas, as spreadsheets do in many countries; all that a
release needs to know about it stands in a schema: ranges from medicine, never from the rows.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import privgmm

SCHEMA = """
label = "discharge"
classes = ["home", "care", "died"]

[columns]
patient_id = {type = "drop"}
ward = {type = "category", levels = ["medicine", "surgery", "cardiology"]}
age = {type = "integer", lo = 18, hi = 100}
systolic = {type = "number", lo = 60, hi = 240}
haemoglobin = {type = "number", lo = 4, hi = 20, decimals = 1, missing = true}
nights = {type = "integer", lo = 0, hi = 60}
"""


def write_patients(path: Path, n: int = 6000) -> None:
    """Invented patients; 4 % of the laboratory values are missing."""
    rng = np.random.default_rng(0)
    kind = rng.choice(3, size=n, p=[0.72, 0.21, 0.07])
    bell = rng.standard_normal((n, 3))
    frame = pd.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in range(n)],
            "ward": rng.choice(["medicine", "surgery", "cardiology"], n),
            "age": np.clip(np.rint(np.array([58, 79, 76])[kind] + 13 * bell[:, 0]), 18, 100),
            "systolic": (np.array([134, 128, 108])[kind] + 18 * bell[:, 1]).round(),
            "haemoglobin": (np.array([13.6, 12.1, 10.9])[kind] + 1.6 * bell[:, 2]).round(1),
            "nights": np.minimum(rng.geometric(np.array([0.25, 0.09, 0.12])[kind]), 60),
            "discharge": np.array(["home", "care", "died"])[kind],
        }
    )
    frame.loc[rng.random(n) < 0.04, "haemoglobin"] = np.nan
    frame.to_csv(path, sep=";", decimal=",", index=False)


with tempfile.TemporaryDirectory() as scratch:
    table, schema = Path(scratch) / "patients.csv", Path(scratch) / "schema.toml"
    write_patients(table)
    schema.write_text(SCHEMA)
    release = privgmm.release(
        pd.read_csv(table, sep=";", decimal=","),
        schema=schema,
        unit="record",
        epsilon=1.0,
        delta=1e-6,
    )

print(release.guarantee.promise)
for k, name in enumerate(release.mixture.classes):
    share, error = release.mixture.weights[k], release.errors.weights[k]
    print(f"discharge {name:5} {100 * share:5.1f} % ± {100 * error:.1f}")
release.plot().savefig("hospital.png", dpi=110)
