value = 43
