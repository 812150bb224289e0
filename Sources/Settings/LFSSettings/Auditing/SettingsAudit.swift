public import Foundation

/// A list of the registered keys and the stored values, without any value itself.
public struct SettingsAudit: Codable, Sendable, Hashable {
    /// A key of a catalog, or a family.
    public struct Entry: Codable, Sendable, Hashable {
        /// The name of the key or the family.
        public let key: String
        /// True for a family. The counts then include all of its members.
        package let isFamily: Bool
        /// The name of its catalog.
        public let catalog: String
        /// The type of its values.
        public let type: String
        /// The place of its values.
        public let domain: String
        /// The encryption of its values.
        public let security: String
        /// The way in which its values are synced with other devices: `never`, `manual` or `automatic`.
        public let sync: String
        /// True if the key is available on this platform.
        public let isAvailable: Bool
        /// The number of stored values: 0 or 1, or more for a family.
        public internal(set) var storedCount = 0
        /// The size of the stored values in bytes, including their envelopes.
        public internal(set) var byteCount = 0
        /// The time of the last write.
        public internal(set) var updatedAt: Date?
        /// The lowest serializer version among the stored values.
        public internal(set) var serializerVersion: Int?
        /// The reason why a value cannot be read, as a code of ``SettingsError``. Nil if all can be read.
        public internal(set) var problem: String?
    }

    /// A stored value that no catalog has.
    public struct Orphan: Codable, Sendable, Hashable {
        /// The name under which it is stored.
        public let name: String
        /// The place where it is stored.
        public let place: String
        /// The size in bytes.
        public let byteCount: Int
    }

    /// The keys and families, sorted by name.
    public internal(set) var entries: [Entry] = []
    /// The values that no catalog has, sorted by place and name.
    public internal(set) var orphans: [Orphan] = []
    /// The keys whose earlier value could not be migrated yet.
    public internal(set) var pendingMigrations: [String] = []
    /// The catalogs whose data could not be migrated to their versions.
    public internal(set) var pendingCatalogs: [String] = []
    /// The state of the sync with the user's other devices, for each transport.
    public internal(set) var companions: [CompanionStatus] = []
    /// The places that could not be read, with the code of ``SettingsError``.
    public internal(set) var unreadablePlaces: [String: String] = [:]
}
