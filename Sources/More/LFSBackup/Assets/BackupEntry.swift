/// A folder, or a symbolic link in a folder. It has a name and attributes, but no bytes to upload.
public struct BackupEntry: Hashable, Sendable {
    /// The type of an entry.
    public enum Kind: Hashable, Sendable {
        /// A folder.
        case folder
        /// A symbolic link with its target text. The target need not exist.
        case link(target: AssetName)
    }

    /// The absolute path.
    public let id: AssetName
    /// The path relative to the selected folder, starting with that folder's name.
    public let title: AssetName
    /// The type of the entry.
    public let kind: Kind
    /// The attributes. A link has no permissions.
    public let attributes: FileAttributes

    /// Creates an entry.
    package init(id: AssetName, title: AssetName, kind: Kind, attributes: FileAttributes) {
        self.id = id
        self.title = title
        self.kind = kind
        self.attributes = attributes
    }
}
