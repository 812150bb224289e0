/// An original that can be backed up, such as a file in a folder or a photo in a library.
public struct Asset: Hashable, Sendable {
    /// The identifier of the original in its source. It never changes.
    public let id: AssetName
    /// The name to show to people, such as the path relative to the selected folder.
    public let title: AssetName
    /// The media type. Nil derives it from the extension of the name.
    public let contentType: String?
    /// The stamp, which shows without a read whether the original has changed.
    public let stamp: AssetVersion
    /// The groups that contain the original.
    public let groups: Set<BackupGroup.ID>
    /// The metadata of an original that a `PhotoSource` found. Nil for an original of another source.
    public package(set) var photo: PhotoAttributes?
    /// The file that a ``FolderSource`` found. Nil for an original of another source.
    var sighting: FileSighting?

    /// Creates an original.
    public init(
        id: AssetName, title: AssetName, contentType: String? = nil, stamp: AssetVersion, groups: Set<BackupGroup.ID>
    ) {
        self.id = id
        self.title = title
        self.contentType = contentType
        self.stamp = stamp
        self.groups = groups
    }

    /// The name of its file, suitable for display.
    package var name: String { title.lastComponent.text ?? title.lastComponent.description }
}

/// The outward state of an original. An original with an unchanged stamp is not read again.
public struct AssetVersion: Hashable, Sendable {
    /// The size in bytes. Nil if the source cannot determine it without reading the original.
    public let byteCount: Int64?
    /// A text that changes with every change of the content.
    public let text: String

    /// Creates a stamp.
    public init(byteCount: Int64?, text: String) { (self.byteCount, self.text) = (byteCount, text) }
}

/// An item that a walk through a source returns.
public enum AssetItem: Hashable, Sendable {
    /// An original.
    case asset(Asset)
    /// An original that should be backed up but cannot be read, with the reason.
    case unreadable(AssetName, String)
    /// An item that is skipped on purpose, such as a link, with the reason.
    case passedOver(AssetName, String)
    /// A folder that the walk enters, or a link that it does not follow. Only sources with entries return it.
    case entry(BackupEntry)
}
