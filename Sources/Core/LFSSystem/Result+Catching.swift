extension Result {
    /// Captures the value or the error of an asynchronous body, for a caller that has work to do in both cases.
    package static func catching(_ body: () async throws(Failure) -> Success) async -> Self {
        do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
}
