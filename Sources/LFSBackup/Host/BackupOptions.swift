package import Foundation
public import LFS

/// How a backup works; every option has a default.
public struct BackupOptions: Sendable {
    /// How long the upload of a new file waits after it was read, up to a day: an original that is edited right away
    /// is then sent once, and a phone has time to get home.
    public var delay = Duration.zero
    /// Whether originals are sent again whose files were deleted on purpose.
    public var sendsDeclined = false
    /// Files whose bytes on this device are known not to be the recorded ones, beside those that the database tells.
    public var damaged: Set<FileData.ID> = []
    /// Whether an original with the bytes of a file that is there already shares that file, so that they are uploaded
    /// once. Without it every original has a file of its own: for a storage of which nobody knows whether it has what
    /// the rows say.
    public var reusesFiles = true
    /// For how many originals there is room on the disk; nil when nobody looks.
    public var room: BackupRoom?
    package var wallClock: @Sendable () -> Date = { Date() }

    /// The defaults.
    public init() {}

    /// No upload can be put off further: it would be taken for one that a wrong clock has put off.
    public static let longestDelay = Duration.seconds(24 * 3_600)

    var boundedDelay: Duration { min(max(delay, .zero), Self.longestDelay) }
}
