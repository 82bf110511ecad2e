"""The paper's Tables 2, 3 and 4 as something to run; `kt-reproduce` is the program over it."""
