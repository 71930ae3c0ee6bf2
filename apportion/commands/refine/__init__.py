"""Commands of the Refiner: `instances`, `train` and `persuasion`, below `apportion train`."""
