public import LFSSystem

/// What ``LFSManager/verify(_:onFinding:onProgress:)`` looks at, and whether it mends.
public struct VerifyOptions: Sendable {
    /// Whether the remote storage is asked. Without it only rows and local files are compared, and nothing is repaired
    /// that needs to know what is there.
    public var checksRemote = true
    /// Whether the bytes of every local file are read and compared with the recorded SHA-256, not only their number.
    public var checksContent = false
    /// Whether every object is fetched and compared with the recorded SHA-256: the only way to see what went bad on the
    /// storage since it was uploaded. It takes as long as fetching all files, and nothing of them is kept.
    /// ``LFSManager/readBack(_:)`` reads some of them.
    public var readsRemote = false
    /// Whether what can be mended without a loss is mended. Without it nothing is changed, but that missing and damaged
    /// objects are noted: the local bytes of such a file are not evicted any more, and
    /// ``LFSManager/retry(_:)`` uploads those whose object was missing.
    public var repairs = false
    /// How old a local file without a row has to be before it is an orphan; one that was made and not inserted has to
    /// be as old as ``LFSOptions/temporaryFileGracePeriod`` as well.
    public var localGracePeriod = Duration.seconds(24 * 3_600)
    /// How old an object without a row has to be, by the time in its id, before it is an orphan. Choose it longer than
    /// a copy of this database may lag behind: what another one uploaded lately may have no row here yet.
    public var remoteGracePeriod = Duration.seconds(7 * 24 * 3_600)
    /// Goes on even if nothing at all of what the rows say is found: on the remote storage, or in a local folder that
    /// is newer than the database. Without it that is ``LFSError/Code/wrongStorage`` or ``LFSError/Code/wrongStore``.
    /// Folders that are away (``LFSManager/absentFolders()``) then count as gone for good.
    public var acceptsEmpty = false

    /// Whether a repair also deletes orphans: files and objects that no row knows, and damaged bytes in
    /// quarantine without a row. Without it they are told and stay.
    ///
    /// Nothing in one copy of a database can tell garbage from the files of another copy: a newer one over which a
    /// backup was put back, one on another machine, this one before a reset. Deleting is final. Say so only when this
    /// is the one copy that is left, and nobody wants anything from the others.
    public var removesUnknown = false

    /// Where right bytes of a file may be besides this device and the storage, such as the originals that it was made
    /// from. A repair asks it for a file of which it has found none, right before that would be noted as a loss, and
    /// takes the first source that has the recorded size and SHA-256; what it returns is opened by then, or opens at
    /// once. Nil when there are no others.
    public var originals: (@Sendable (FileID) async throws -> [FileSource])?

    /// Options that compare everything but the bytes of local files, and change nothing.
    public init() {}
}
