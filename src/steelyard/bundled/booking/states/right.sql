-- The reference: a free room, for the right customer, and nothing else.
INSERT INTO booking VALUES ('B-304', 'C-104', 'Garden', '2025-11-14', '10:00', 'confirmed');
