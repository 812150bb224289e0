import LFSSystem

extension StorageKey {
    /// One key for each id, such as one for each user: `syncMark[userID]`.
    ///
    /// Errors and logs name the family only. An id with other characters than letters, digits and dashes, or with more
    /// than 64 bytes, stands in the database and in names of files as its SHA-256.
    public struct Family: Sendable {
        /// The key that members are like; its name is the family's.
        let pattern: StorageKey<Value>

        /// The name of the family.
        public var name: String { pattern.name }

        /// A family whose members are like a key.
        ///
        /// - Parameter pattern: its name is the beginning of the members', at most 34 bytes; of its migrations none is
        ///   carried out.
        public init(_ pattern: StorageKey<Value>) { self.pattern = pattern }

        /// The key of an id.
        public subscript(_ id: String) -> StorageKey<Value> {
            StorageKey(
                name: "\(pattern.name).\(Self.part(id))", default: pattern.defaultValue, domain: pattern.domain,
                security: pattern.security, serializer: pattern.serializer, sync: pattern.sync,
                availability: pattern.availability, onUndecodable: pattern.onUndecodable, migrations: [],
                family: pattern.name)
        }

        /// Bytes of a family's name at most, so that those of its members are names too.
        static var longestName: Int { StorageLimits.name - 66 }

        /// A dash begins what is a hash, so that no id is the hash of another.
        private static func part(_ id: String) -> String {
            let isPlain =
                StorageLimits.isName(id) && id.utf8.count <= 64 && !id.hasPrefix("-") && !id.utf8.contains(0x2E)
            return isPlain ? id : "-" + ContentHash.hex(ofText: id)
        }
    }
}
