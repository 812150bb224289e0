/// A folder, or a symbolic link in one: it has no bytes to be sent, but a name and attributes.
public struct BackupEntry: Hashable, Sendable {
    /// What it is.
    public enum Kind: Hashable, Sendable {
        /// A folder.
        case folder
        /// A symbolic link with the text that it has, whether there is anything or not.
        case link(target: AssetName)
    }

    /// Its path.
    public let id: AssetName
    /// Its path from the named folder on, beginning with that folder's name.
    public let title: AssetName
    /// What it is.
    public let kind: Kind
    /// What it has beside its content. The permissions of a link are none.
    public let attributes: FileAttributes

    /// An entry.
    public init(id: AssetName, title: AssetName, kind: Kind, attributes: FileAttributes) {
        (self.id, self.title, self.kind, self.attributes) = (id, title, kind, attributes)
    }
}
