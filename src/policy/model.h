/*
 * model.h - one policy file -> named rules, checked, each with its place
 */
#ifndef WEIR_POLICY_MODEL_H
#define WEIR_POLICY_MODEL_H

#include "conf/tree.h"
#include "policy/facts.h"

struct model;
struct rule;

#endif
