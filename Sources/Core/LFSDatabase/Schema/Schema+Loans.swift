import GRDB

/// Version 5: the uploads that a service of the system carries out.
extension Schema {
    @Sendable static func addLoans(_ db: Database) throws {
        try db.execute(sql: changes)
        try db.execute(sql: "UPDATE lfs_state SET schemaVersion = 5")
    }

    private static let changes = """
        -- The tasks of uploads that are lent to a service of the system. They belong to this device only.
        CREATE TABLE lfs_loan (
            fileID TEXT NOT NULL CHECK (typeof(fileID) = 'text'),
            -- The number of the part, from 1. 0 while the tasks are prepared.
            part INTEGER NOT NULL CHECK (typeof(part) = 'integer' AND part >= 0),
            -- Distinguishes the task from those of earlier loans.
            nonce TEXT NOT NULL CHECK (typeof(nonce) = 'text'),
            -- The end of the loan in milliseconds since 1970. The job has the same notBefore.
            until INTEGER NOT NULL CHECK (typeof(until) = 'integer'),
            PRIMARY KEY (fileID, part)
        );
        """
}
