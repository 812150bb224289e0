package import LFSSystem

/// The database that secrets belong to.
package struct SecretOwner: Sendable {
    /// The id that distinguishes its items from those of other databases.
    package let installID: FileID
    /// The path of the database file, or empty for a database in memory.
    package let databasePath: String
    /// The clock for deadlines.
    package let clock: any Clock<Duration>

    package init(installID: FileID, databasePath: String, clock: any Clock<Duration> = ContinuousClock()) {
        self.installID = installID
        self.databasePath = databasePath
        self.clock = clock
    }
}
