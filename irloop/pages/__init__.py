"""Interactive pages: single HTML files that show models, comparisons and findings in a browser."""
