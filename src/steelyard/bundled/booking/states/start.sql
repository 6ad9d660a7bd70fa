-- The database before the agent begins.
PRAGMA page_size = 512;
CREATE TABLE booking (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    room TEXT NOT NULL,
    day TEXT NOT NULL,
    hour TEXT NOT NULL,
    status TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO booking VALUES ('B-301', 'C-101', 'Harbour', '2025-11-13', '10:00', 'confirmed');
INSERT INTO booking VALUES ('B-302', 'C-102', 'Harbour', '2025-11-14', '10:00', 'confirmed');
INSERT INTO booking VALUES ('B-303', 'C-103', 'Garden', '2025-11-14', '15:00', 'confirmed');
