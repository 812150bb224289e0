public import LFSSystem

/// The options of ``LFSManager/verify(_:onFinding:onProgress:)``: what it compares, and whether it repairs.
public struct VerifyOptions: Sendable {
    /// Compares with the remote storage. The default is true. If false, only rows and local files are compared, and no
    /// repair is done that needs to know the objects.
    public var checksRemote = true
    /// Reads every local file and compares its SHA-256 with the row, instead of its size alone. The default is false.
    public var checksContent = false
    /// Downloads every object and compares its SHA-256 with the row. The default is false. It is the only way to detect
    /// damage on the storage since the upload. It takes as long as downloading all files, and keeps no bytes.
    /// ``LFSManager/readBack(_:)`` reads the objects of some files.
    public var readsRemote = false
    /// Repairs all problems that can be repaired without data loss. The default is false. If false, only missing and
    /// damaged objects are recorded. The local bytes of such a file are then no longer evicted, and
    /// ``LFSManager/retry(_:)`` uploads those whose object was missing.
    public var repairs = false
    /// The minimum age of a local file without a row before it is an orphan. The default is 24 hours. A file that was
    /// made and not inserted must also be older than ``LFSOptions/temporaryFileGracePeriod``.
    public var localGracePeriod = Duration.seconds(24 * 3_600)
    /// The minimum age of an object without a row before it is an orphan, by the time in its id. The default is 7 days.
    /// Choose it longer than a copy of this database may lag behind, because files that another copy has uploaded
    /// recently may have no row in this one yet.
    public var remoteGracePeriod = Duration.seconds(7 * 24 * 3_600)
    /// Continues even if none of the rows' files is found on the remote storage, or in a local folder that is newer
    /// than the database. The default is false, and the verification then throws ``LFSError/Code/wrongStorage`` or
    /// ``LFSError/Code/wrongStore``. If true, absent folders count as gone for good.
    public var acceptsEmpty = false

    /// Lets a repair delete orphans: files and objects without a row, and damaged bytes in quarantine without a row.
    /// The default is false. Orphans are then reported and kept.
    ///
    /// One copy of a database cannot distinguish garbage from the files of another copy: a newer one that was replaced
    /// by a backup, one on another machine, or this one before a reset. Deletion is final. Set this only if this is the
    /// only remaining copy, and no files of other copies are needed.
    public var removesUnknown = false

    /// Returns sources that may have the correct bytes of a file, besides this device and the storage, such as the
    /// originals that it was made from. A repair calls it for a file without correct bytes, right before it would be
    /// recorded as a loss. It uses the first source with the recorded size and SHA-256. Each returned source must be
    /// open already or open without delay. Nil when there are no other sources.
    public var originals: (@Sendable (FileID) async throws -> [FileSource])?

    /// Creates options that compare everything except the bytes of files, and change nothing except the records of
    /// missing and damaged objects.
    public init() {}
}
