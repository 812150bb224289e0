public import Foundation

/// What is registered and what is stored, without any value.
public struct SettingsAudit: Codable, Sendable, Hashable {
    /// A key of a catalog, or a family.
    public struct Entry: Codable, Sendable, Hashable {
        /// The key's name, or the family's.
        public let key: String
        /// Whether it is a family; the counts are those of all its members then.
        public let isFamily: Bool
        /// The name of its catalog.
        public let catalog: String
        /// The type of its values.
        public let type: String
        /// Where its values are kept.
        public let domain: String
        /// How they are kept from others.
        public let security: String
        /// Whether they go to other devices.
        public let sync: String
        /// Whether it is for this platform.
        public let isAvailable: Bool
        /// How many values are stored: 0 or 1, or more for a family.
        public internal(set) var storedCount = 0
        /// Bytes of them, with those of their envelopes.
        public internal(set) var byteCount = 0
        /// When the last of them was written.
        public internal(set) var updatedAt: Date?
        /// The lowest version of the serializer that one of them has.
        public internal(set) var serializerVersion: Int?
        /// Whether the system keeps the files closed while the device is locked; nil where no file is asked to be.
        public let isFileProtected: Bool?
        /// Why a value cannot be read: a code of ``SettingsError``; nil when all can be.
        public internal(set) var problem: String?
    }

    /// Something stored that no catalog knows.
    public struct Orphan: Codable, Sendable, Hashable {
        /// The name that it is stored under.
        public let name: String
        /// Where it is.
        public let place: String
        /// How many bytes it has.
        public let byteCount: Int
    }

    /// By name.
    public internal(set) var entries: [Entry] = []
    /// By place and name.
    public internal(set) var orphans: [Orphan] = []
    /// Keys whose earlier value could not be taken over yet.
    public internal(set) var pendingMigrations: [String] = []
    /// Catalogs whose data could not be brought to their versions.
    public internal(set) var pendingCatalogs: [String] = []
    /// How it stands with the user's other devices, for each transport.
    public internal(set) var companions: [CompanionStatus] = []
    /// Places that could not be looked at, with the code of ``SettingsError``.
    public internal(set) var unreadablePlaces: [String: String] = [:]
}
