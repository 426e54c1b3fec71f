"""Other systems: their names over our core, their files as ours."""
