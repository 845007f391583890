public import ArgumentParser
public import MeshNode

extension AssetPoliciesReport.Policy: ExpressibleByArgument {}
