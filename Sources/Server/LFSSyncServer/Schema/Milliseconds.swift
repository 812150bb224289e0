import Foundation
import LFSSystem

/// Conversions to milliseconds since 1970, in which the tables store times.
enum Milliseconds {
    static let day: Int64 = 86_400_000

    static func of(_ date: Date) -> Int64 { date.millisecondsSince1970 }

    static func of(_ duration: Duration) -> Int64 { duration.milliseconds }

    static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}
