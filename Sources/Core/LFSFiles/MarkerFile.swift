import Foundation
import LFSSystem

/// A small JSON file that states which database a folder belongs to.
///
/// It is written in another folder, synced, read back and then renamed, so a crash leaves either a whole file or none.
/// A disk that reports a sync too early can still leave an empty or truncated file after a power failure. A reader
/// distinguishes such a file (``Content/damaged``) from one that another program has written (``Content/unknown``).
struct MarkerFile<Marker: Codable & Sendable>: Sendable {
    enum Content: Sendable {
        case missing
        /// The file is empty, truncated or overwritten, so that it is not valid JSON.
        case damaged
        /// The file is intact but not such a marker, or it is not a file of this user.
        case unknown
        case found(Marker)
    }

    typealias Put = @Sendable (Descriptor, UnsafeRawBufferPointer) throws -> Void

    static var longest: Int { 4_096 }

    let name: String
    private let put: Put

    init(_ name: String, put: @escaping Put = { try $0.write($1) }) {
        self.name = name
        self.put = put
    }

    /// Reads the marker.
    ///
    /// - Parameters:
    ///   - folder: the folder of the marker.
    ///   - fromDevice: reads from the device instead of the page cache, which still contains the file after its disk
    ///     was removed.
    func read(in folder: Directory, fromDevice: Bool = false) throws(SystemError) -> Content {
        let text: Data
        do {
            let file = try folder.openForReading(name)
            if fromDevice { file.dropCache() }
            let status = try file.status()
            guard status.isRegularFile, status.isOurs, status.byteCount <= Self.longest else {
                return .unknown
            }
            text = try Self.contents(of: file)
        } catch let error where error.isMissing {
            return .missing
        } catch let error where error.isSymbolicLink {
            return .unknown
        }
        if let marker = Self.decode(text) { return .found(marker) }
        return Self.isJSON(text) ? .unknown : .damaged
    }

    /// Replaces the marker.
    ///
    /// - Parameter aside: a folder on the same file system for the temporary file.
    func replace(with marker: Marker, in folder: Directory, through aside: Directory) throws {
        let temporary = try write(marker, to: aside)
        try withRemoval(of: temporary, in: aside) { try aside.rename(temporary, to: folder, as: name) }
        try folder.synchronize()
    }

    /// Creates the marker.
    ///
    /// - Throws: a `SystemError` with `isExisting` if a marker exists by then.
    func make(_ marker: Marker, in folder: Directory, through aside: Directory) throws {
        let temporary = try write(marker, to: aside)
        try withRemoval(of: temporary, in: aside) { try aside.renameExclusively(temporary, to: folder, as: name) }
        try folder.synchronize()
    }

    /// Writes the marker directly under its name, so that a crash leaves no temporary file. Overwrites a damaged
    /// marker. Only the exclusive owner of the folder may call it.
    func makeInPlace(_ marker: Marker, in folder: Directory) throws {
        let file = try folder.openOrCreate(name)
        guard try file.status().isSolelyOurs else { throw SystemError.shortWrite(file.path) }
        try withRemoval(of: name, in: folder) {
            try file.truncate(to: 0)
            try write(marker, to: file)
        }
        try folder.synchronize()
    }

    /// Writes the marker to a durable temporary file and returns its name.
    private func write(_ marker: Marker, to aside: Directory) throws -> String {
        let temporary = "\(name).\(FileID.make().text)"
        let file = try aside.create(temporary)
        try withRemoval(of: temporary, in: aside) { try write(marker, to: file) }
        return temporary
    }

    /// Writes the marker and returns when it is on the device.
    private func write(_ marker: Marker, to file: Descriptor) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try encoder.encode(marker)
        try text.withUnsafeBytes { try put(file, $0) }
        try file.synchronize()
        guard try file.status().byteCount == text.count, try Self.contents(of: file) == text else {
            throw SystemError.shortWrite(file.path)
        }
    }

    private func withRemoval(of name: String, in aside: Directory, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            try aside.remove(name)
            throw error
        }
    }

    private static func contents(of file: Descriptor) throws(SystemError) -> Data {
        Data(try file.prefix(longest))
    }

    private static func decode(_ text: Data) -> Marker? {
        do { return try JSONDecoder().decode(Marker.self, from: text) } catch { return nil }
    }

    private static func isJSON(_ text: Data) -> Bool {
        do {
            _ = try JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed)
            return true
        } catch {
            return false
        }
    }
}
