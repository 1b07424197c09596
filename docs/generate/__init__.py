"""Generates pages of the site from the code when the site is built; none is committed."""
