/// The metadata of a file, a folder or a link.
public struct FileAttributes: Hashable, Sendable {
    /// The time of the last change of the content, in seconds since 1970.
    public var seconds: Int
    /// The nanoseconds of that time, from 0 to 999,999,999.
    public var nanoseconds: Int
    /// The permissions and the owner. Nil if they were not recorded.
    public var permissions: Permissions?

    /// The permissions and the owner of a file.
    public struct Permissions: Hashable, Sendable {
        /// The permission bits with setuid, setgid and sticky, 0 to 0o7777.
        public var mode: UInt32
        /// The id of the owning user.
        public var user: UInt32
        /// The id of the owning group.
        public var group: UInt32

        /// Creates permissions.
        public init(mode: UInt32, user: UInt32, group: UInt32) {
            self.mode = mode
            self.user = user
            self.group = group
        }
    }

    /// Creates attributes.
    public init(seconds: Int, nanoseconds: Int, permissions: Permissions?) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
        self.permissions = permissions
    }
}
