import Crypto
import Foundation
import LFSFiles
import LFSSystem
import Synchronization

/// A file of encrypted items. See ``SealedFileContent`` for its format.
///
/// A change holds a lock file next to it (`flock`), and replaces the file as a whole.
///
/// One mutex owns the key in memory.
final class SealedFile: SecretStore {
    private struct Opened {
        let note: Data?
        let key: DataKey
    }

    let path: String
    let movingKind: String?
    private let source: KeySource.Closures
    private let installID: FileID
    private let opened = Mutex<Opened?>(nil)

    static let longest = 16 << 20

    var kind: String { "sealedFile:\(path)" }

    private var name: String { (path as NSString).lastPathComponent }

    init(path: String, source: KeySource, owner: SecretOwner) throws {
        guard case .closures(let closures) = source.kind else {
            throw SettingsError(
                .notConfigured,
                message: """
                    The key of a sealed file cannot be in the key chain, because that file is the key chain. Use a \
                    .keyFile(…) for it.
                    """
            )
        }
        try Path.requireAbsolute(path, what: "The path of a sealed file")
        self.path = Path.canonical(path)
        self.source = closures
        installID = owner.installID
        let folder = owner.databasePath.isEmpty ? nil : (owner.databasePath as NSString).deletingLastPathComponent
        movingKind = folder.map { "sealedFile:./" + Path.relative(Path.canonical(path), to: $0) }
    }

    // MARK: Items

    func read(_ item: String, requiring required: String?) async throws -> Data? {
        var content = try await content()
        guard let envelope = content.items[entry(item)] else {
            try require(required, in: content)
            return nil
        }
        let key = try await key(for: &content, mayMake: false)
        return try open(envelope, item: item, key: key)
    }

    func update(
        _ item: String, requiring required: String?,
        _ body: @escaping @Sendable (() throws -> Data?) throws -> SecretChange
    ) async throws {
        try await withLock { folder in
            var content = try await content()
            try require(required, in: content)
            let key = try await key(for: &content, mayMake: content.items.isEmpty)
            let entry = entry(item)
            let envelope = content.items[entry]
            switch try body({ try envelope.map { try self.open($0, item: item, key: key) } }) {
            case .keep: return
            case .put(let bytes):
                content.items[entry] = try Envelope.close(bytes, with: key, suite: .aesGCM, for: context(item))
            case .remove:
                guard envelope != nil else { return }
                content.items[entry] = nil
            }
            let bytes = try content.encoded()
            guard bytes.count <= Self.longest else {
                throw SettingsError(
                    .tooLarge, message: "\(path) would exceed 16 MiB. Keep large values in .file.")
            }
            try await BlockingPool.shared.run { _ in
                try AtomicFile(folder: folder, name: self.name).replace(with: bytes)
            }
        }
    }

    func items() async throws -> [String] {
        let prefix = entry("")
        return try await content().items.keys.compactMap { $0.text(afterPrefix: prefix) }.sorted()
    }

    func stamp() async throws -> String? {
        try await BlockingPool.shared.run { _ in try AtomicFile(folder: self.folder(), name: self.name).stamp() }
    }

    private func require(_ item: String?, in content: SealedFileContent) throws {
        guard let item, content.items[entry(item)] == nil else { return }
        throw lost
    }

    private func entry(_ item: String) -> String { "\(installID.text)/\(item)" }

    private func context(_ item: String) -> EnvelopeContext {
        EnvelopeContext(installID: installID, domain: "keychain", name: item, serializer: "item", version: 1)
    }

    private func open(_ envelope: Data, item: String, key: DataKey) throws -> Data {
        guard try Envelope.header(of: envelope).keyID == key.id else { throw RootKeyErrors.mismatch }
        return try Envelope.open(envelope, with: key, for: context(item))
    }

    // MARK: The key

    /// Returns the key of the items. A new note of its source is added to the content.
    ///
    /// The key stays in memory once an item of any database names it. So a mistyped passphrase is asked for again.
    ///
    /// - Parameter mayMake: true while no item is encrypted with another key.
    private func key(for content: inout SealedFileContent, mayMake: Bool) async throws -> DataKey {
        let note = content.note
        if let opened = opened.withLock({ $0 }), opened.note == note, content.names(opened.key.id) != false {
            return opened.key
        }
        let root: SymmetricKey
        (root, content.note) = try await source.obtain(note, mayMake: mayMake && note == nil)
        let made = Opened(note: content.note, key: DataKey.root(root))
        guard content.names(made.key.id) != false else { throw RootKeyErrors.mismatch }
        opened.withLock { $0 = made }
        return made.key
    }

    // MARK: The file

    private func content() async throws -> SealedFileContent {
        try await BlockingPool.shared.run { _ in
            let file = AtomicFile(folder: try self.folder(), name: self.name)
            guard let bytes = try file.read(longest: Self.longest) else { return SealedFileContent() }
            return try SealedFileContent(encoded: bytes)
        }
    }

    private func withLock(_ body: (Directory) async throws -> Void) async throws {
        try await LockedFile.with(
            {
                let folder = try self.folder()
                return (try OwnFolder.openLockFile("\(self.name).lock", in: folder), folder)
            },
            { folder in
                try await BlockingPool.shared.run { _ in try AtomicFile.sweep(folder, name: self.name) }
                try await body(folder)
            })
    }

    private func folder() throws -> Directory {
        let path = (path as NSString).deletingLastPathComponent
        do {
            let folder = try Directory.open(path)
            try OwnFolder.require(try folder.status(), path: path)
            return folder
        } catch let error as SystemError where error.isMissing {
            throw SettingsError(
                .folderAbsent,
                message: """
                    \(path), the folder of the sealed file, does not exist. Create it (mode 0700), or mount its disk.
                    """
            )
        }
    }
}
