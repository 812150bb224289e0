package import LFSSystem

/// The database that secrets belong to.
package struct SecretOwner: Sendable {
    /// Tells its items from those of other databases.
    package let installID: FileID
    /// The file of the database; empty for one in memory.
    package let databasePath: String
    /// The clock that deadlines go by.
    package let clock: any Clock<Duration>

    package init(installID: FileID, databasePath: String, clock: any Clock<Duration> = ContinuousClock()) {
        (self.installID, self.databasePath, self.clock) = (installID, databasePath, clock)
    }
}
