"""Rows without labels: private EM, classes given by a public rule that earlier noisy answers made (docs/proofs/class-moments.md)."""
