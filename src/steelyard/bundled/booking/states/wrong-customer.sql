-- Trial 2: the digits of the customer are swapped.
INSERT INTO booking VALUES ('B-304', 'C-140', 'Garden', '2025-11-14', '10:00', 'confirmed');
