"""The pages of the site that are made from the code as the site is built; none is committed."""
