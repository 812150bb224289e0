/// An original that can be backed up: a file of a folder, a photo of a library.
public struct Asset: Hashable, Sendable {
    /// What the source calls it, always the same for the same original.
    public let id: AssetName
    /// What people know it by, such as the path from the named folder on.
    public let title: AssetName
    /// The media type; nil for that of the name's extension.
    public let contentType: String?
    /// What shows that it has not changed without reading it.
    public let stamp: AssetStamp
    /// The groups that it is in.
    public let groups: Set<BackupGroup.ID>
    /// Where a ``FolderSource`` has met it; nil for one of another source.
    var sighting: FileSighting?

    /// An original.
    public init(
        id: AssetName, title: AssetName, contentType: String? = nil, stamp: AssetStamp, groups: Set<BackupGroup.ID>
    ) {
        (self.id, self.title, self.contentType) = (id, title, contentType)
        (self.stamp, self.groups) = (stamp, groups)
    }

    /// The name of its file, fit to be shown.
    public var name: String { title.lastComponent.text ?? title.lastComponent.description }
}

/// What an original looks like from outside. One that looks the same is not read again.
public struct AssetStamp: Hashable, Sendable {
    /// Its size in bytes; nil where the source cannot tell it without reading.
    public let byteCount: Int64?
    /// A text that changes with every change of the content.
    public let text: String

    /// A stamp.
    public init(byteCount: Int64?, text: String) { (self.byteCount, self.text) = (byteCount, text) }
}

/// What a walk through a source meets.
public enum AssetItem: Hashable, Sendable {
    /// An original.
    case asset(Asset)
    /// One that should be backed up and cannot be read, with the reason.
    case unreadable(AssetName, String)
    /// One that is left alone on purpose, such as a link, with the reason.
    case passedOver(AssetName, String)
    /// A folder that is entered, or a link that is not followed, where the source was asked for them.
    case entry(BackupEntry)
}
