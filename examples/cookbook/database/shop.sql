CREATE TABLE sales (name TEXT, amount INTEGER);
INSERT INTO sales VALUES ('coffee', 3), ('tea', 5), ('coffee', 1);
