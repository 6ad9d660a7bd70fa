-- Trial 3: another customer's booking was moved out of the way.
UPDATE booking SET hour = '11:00' WHERE id = 'B-302';
INSERT INTO booking VALUES ('B-304', 'C-104', 'Harbour', '2025-11-14', '10:00', 'confirmed');
