"""Adapters over plain files of the home folder."""
