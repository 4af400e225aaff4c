"""A shop with Django: an order, its task and its workflow begin in one transaction, and the workflow fulfils the order."""
