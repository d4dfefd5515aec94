"""Small services that ask one another, under a load in an open loop."""
