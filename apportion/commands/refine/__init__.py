"""Commands of the Refiner of the Stackelberg Speaker: `instances`, `train` and `persuasion`, below `apportion train`."""
