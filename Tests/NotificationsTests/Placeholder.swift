// Placeholder until the first test of this floor lands.
