"""Knotwork: answers that no single passage holds, each with its evidence."""
