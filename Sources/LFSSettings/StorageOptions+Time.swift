import Foundation
import LFSSystem

extension StorageOptions {
    /// The system's clock.
    static func systemTime() -> Int64 { Date().millisecondsSince1970 }
}
