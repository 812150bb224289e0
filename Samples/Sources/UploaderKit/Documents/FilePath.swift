import Foundation
package import GRDB

/// A path as the system has it: bytes. They are text nearly always, but Linux does not require it, and two texts that
/// Swift holds for equal (é composed or not) are two files.
package struct FilePath: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
    package init(_ text: String) { bytes = Array(text.utf8) }

    /// All bytes at once: as an array they would go in one by one.
    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// For people: with escapes, so that a name cannot break a line or a terminal, and no two look the same.
    package var description: String { Printable.name(bytes) }

    /// For programs: the exact text where it is text. Bytes that are none show as U+FFFD.
    var exact: String { text ?? String(decoding: bytes, as: UTF8.self) }

    /// The exact text, nil when the bytes are none.
    package var text: String? { String(validating: bytes, as: UTF8.self) }

    package var components: [[UInt8]] { bytes.split(separator: Self.slash).map(Array.init) }
    package var lastComponent: FilePath { FilePath(bytes: components.last ?? bytes) }

    /// The folder that it is in, of an absolute path without `.` and `..`; nil for the root.
    var folder: FilePath? {
        guard let slash = bytes.lastIndex(of: Self.slash), bytes.count > 1 else { return nil }
        return FilePath(bytes: slash == 0 ? [Self.slash] : Array(bytes[..<slash]))
    }

    package func appending(_ name: [UInt8]) -> FilePath {
        FilePath(bytes: bytes.last == Self.slash ? bytes + name : bytes + [Self.slash] + name)
    }

    /// The path from the root of the file system, with `.` and `..` resolved by name.
    package func absolute(from folder: String) -> FilePath {
        let start = bytes.first == Self.slash ? [] : FilePath(folder).components
        var result = start
        for component in components where component != [0x2E] {
            if component == [0x2E, 0x2E] { _ = result.popLast() } else { result.append(component) }
        }
        return FilePath(bytes: [Self.slash] + Array(result.joined(separator: [Self.slash])))
    }

    /// The path of the same without links; nil when there is nothing at it.
    var real: FilePath? {
        withCString { path in
            guard let real = realpath(path, nil) else { return nil }
            defer { free(real) }
            return FilePath(bytes: Array(UnsafeRawBufferPointer(start: real, count: strlen(real))))
        }
    }

    /// Whether there is a folder, or a link to one.
    var isFolder: Bool {
        var status = stat()
        return withCString { stat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether nothing has the name any more. Where that cannot be told, something has.
    var isGone: Bool {
        var status = stat()
        return withCString { lstat($0, &status) } != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// Whether a file is gone: nothing has its name, or a folder. A link may lead to where the file is now.
    var isGoneAsFile: Bool {
        var status = stat()
        return withCString { lstat($0, &status) } == 0 ? status.st_mode & S_IFMT == S_IFDIR : isGone
    }

    /// Calls the body with the path as C has it.
    package func withCString<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
        try (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // The buffer holds at least the final zero.
            try body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }

    private static let slash = UInt8(ascii: "/")
}

/// Text where it is text, a blob of the exact bytes where it is not.
extension FilePath: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue {
        if let text { text.databaseValue } else { bytes.withUnsafeBytes { Data($0) }.databaseValue }
    }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> FilePath? {
        switch value.storage {
        case .string(let text): FilePath(text)
        case .blob(let data): FilePath(bytes: Array(data))
        default: nil
        }
    }
}
