public import Foundation

extension UnreliableTransport {
    /// The error of a call that was chosen to fail.
    public struct Failure: LocalizedError {
        /// A sentence for the log of a test.
        public var errorDescription: String? { "The transport failed, as the test asked for." }

        /// An error, as tests throw and compare it.
        public init() {}
    }
}
