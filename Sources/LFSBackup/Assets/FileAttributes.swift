/// What a file, a folder or a link has beside its content.
public struct FileAttributes: Hashable, Sendable {
    /// When the content was changed last: seconds since 1970.
    public var seconds: Int
    /// The rest of that time, from 0 to 999,999,999.
    public var nanoseconds: Int
    /// Who may do what; nil when nobody has noted it.
    public var permissions: Permissions?

    /// Who may do what with it.
    public struct Permissions: Hashable, Sendable {
        /// The permission bits with setuid, setgid and sticky, 0 to 0o7777.
        public var mode: UInt32
        /// The id of the user that it belongs to.
        public var user: UInt32
        /// The id of its group.
        public var group: UInt32

        /// Permissions.
        public init(mode: UInt32, user: UInt32, group: UInt32) {
            (self.mode, self.user, self.group) = (mode, user, group)
        }
    }

    /// Attributes.
    public init(seconds: Int, nanoseconds: Int, permissions: Permissions?) {
        (self.seconds, self.nanoseconds, self.permissions) = (seconds, nanoseconds, permissions)
    }
}
