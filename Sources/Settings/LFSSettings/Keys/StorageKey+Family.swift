import LFSSystem

extension StorageKey {
    /// A family of keys with one key for each id, such as one for each user: `syncMark[userID]`.
    ///
    /// Errors and logs name only the family. An id of 1 to 64 letters, digits and dashes that does not begin with a
    /// dash is stored as it is. Other ids are stored as their SHA-256, both in the database and in file names.
    public struct Family: Sendable {
        /// The key that defines the options of all members. Its name is the family's name.
        let pattern: StorageKey<Value>

        /// The name of the family.
        public var name: String { pattern.name }

        /// Creates a family whose members have the options of a key.
        ///
        /// - Parameter pattern: the key. Its name, at most 34 bytes, is the beginning of the members' names. Its
        ///   migrations are not carried out.
        public init(_ pattern: StorageKey<Value>) { self.pattern = pattern }

        /// Returns the key of an id.
        public subscript(_ id: String) -> StorageKey<Value> { pattern.member("\(pattern.name).\(Self.part(id))") }

        /// The limit of a family's name in bytes, so that its members' names are valid too.
        static var longestName: Int { StorageLimits.name - 66 }

        /// A leading dash marks a hash, so that no id equals the hash of another.
        private static func part(_ id: String) -> String {
            let isPlain =
                StorageLimits.isName(id) && id.utf8.count <= 64 && !id.hasPrefix("-") && !id.utf8.contains(0x2E)
            return isPlain ? id : "-" + ContentHash.hex(ofText: id)
        }
    }
}
